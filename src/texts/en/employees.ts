/** Texts of the section `employees`. */
export const employees = {} as const
