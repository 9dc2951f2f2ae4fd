/** Texts of the section `schedules`. */
export const schedules = {} as const
