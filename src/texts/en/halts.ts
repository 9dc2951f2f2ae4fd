/** Texts of the section `halts`. */
export const halts = {} as const
