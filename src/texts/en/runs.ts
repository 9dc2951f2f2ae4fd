/** Texts of the section `runs`. */
export const runs = {} as const
