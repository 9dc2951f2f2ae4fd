/** Texts of the section `cases`. */
export const cases = {} as const
