/** Texts of the section `plan`. */
export const plan = {} as const
