/** Texts of the section `terms`. */
export const terms = {} as const
