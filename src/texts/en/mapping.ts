/** Texts of the section `mapping`. */
export const mapping = {} as const
