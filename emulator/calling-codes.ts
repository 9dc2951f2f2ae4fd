/** Country calling codes in use (ITU-T E.164), as single codes and `from-to` ranges. */
const RANGES = `1 7 20 27 30-34 36 39-41 43-49 51-58 60-66 81 82 84 86 90-95 98
  211-213 216 218 220-258 260-269 290 291 297-299 350-359 370-378 380-383 385-387 389 420 421 423
  500-509 590-599 670 672-683 685-692 850 852 853 855 856 880 886 960-968 970-977 992-996 998`

const KNOWN = new Set(
  RANGES.split(/\s+/).flatMap(range => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  }),
)

export function isCallingCode(code: number): boolean {
  return KNOWN.has(code)
}
