/** Texts of the section `mirrors`. */
export const mirrors = {} as const
