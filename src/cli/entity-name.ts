/** An employee or department with its enterprise, as commands take it. */
export function entityName(row: { enterprise_code: string; entity_key: string }): string {
  return row.enterprise_code === '' ? row.entity_key : `${row.enterprise_code}/${row.entity_key}`
}
