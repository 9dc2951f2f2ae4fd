/** Texts of the section `departments`. */
export const departments = {} as const
