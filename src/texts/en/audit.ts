/** Texts of the section `audit`. */
export const audit = {} as const
