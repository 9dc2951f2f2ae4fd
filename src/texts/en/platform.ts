/** Texts of the section `platform`. */
export const platform = {} as const
