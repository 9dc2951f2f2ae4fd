/** Texts of the section `overview`. */
export const overview = {} as const
