/** Texts of the section `money`. */
export const money = {} as const
