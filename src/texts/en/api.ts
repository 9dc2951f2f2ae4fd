/** Texts of the section `api`. */
export const api = {} as const
