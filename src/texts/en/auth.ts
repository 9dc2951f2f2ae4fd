/** Texts of the section `auth`. */
export const auth = {} as const
