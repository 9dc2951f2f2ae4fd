export interface OidcSettings {
  issuer: string
}
