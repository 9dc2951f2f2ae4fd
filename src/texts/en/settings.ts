/** Texts of the section `settings`. */
export const settings = {} as const
