/** The bare child with all frames that the protocol has for a call. */
import { serve } from "../bare.ts"

serve(5)
