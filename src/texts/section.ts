/** The texts of a section in another language: the same keys as in English, no more and no fewer. */
export type Section<English> = { readonly [Key in keyof English]: string }
