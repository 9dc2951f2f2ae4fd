/** An employee or department with its enterprise, as commands take it; an enterprise by itself. */
export function entityName(row: { enterprise_code: string; entity_key: string; entity?: string }): string {
  return row.enterprise_code === '' || row.entity === 'enterprise'
    ? row.entity_key
    : `${row.enterprise_code}/${row.entity_key}`
}
