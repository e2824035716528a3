/** The bare child with the three frames that every call has. */
import { serve } from "../bare.ts"

serve(3)
