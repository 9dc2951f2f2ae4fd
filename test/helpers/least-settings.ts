/** The least that a deployment sets. */
export const LEAST: Record<string, string> = {
  DATABASE_URL: 'postgres://dirsync@db/dirsync',
  HR_DATABASE_URL: 'postgresql://reader@hr/hr',
  PLATFORM_BASE_URL: 'https://platform.example',
  HR_EMPLOYEES_SQL: 'employees.sql',
  PLATFORM_APP_ID: 'app',
  PLATFORM_APP_SECRET: 'hush-hush',
}
