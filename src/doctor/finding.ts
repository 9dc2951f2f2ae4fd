/** One line of `dirsync doctor`. */
export interface Finding {
  check: string
  /** `warning`: it works, but somebody should know. */
  status: 'ok' | 'warning' | 'failed'
  what: string
  remedy?: string
}

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'warning', what, ...(remedy && { remedy }) }
}

export function failed(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'failed', what, ...(remedy && { remedy }) }
}
