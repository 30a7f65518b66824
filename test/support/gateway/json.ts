// biome-ignore lint/suspicious/noExplicitAny: what comes over a socket is of any shape, and tests look into its parts
export type Json = any
