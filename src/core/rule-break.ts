/** Why a value cannot be sent: the broken rule and a sentence about the rule. It never holds the value itself. */
export class RuleBreak {
  /** Stable name of the rule, such as `too_long` or `check_digit`. */
  readonly rule: string
  /** One sentence without any value of the row. */
  readonly message: string

  constructor(rule: string, message: string) {
    this.rule = rule
    this.message = message
  }
}
