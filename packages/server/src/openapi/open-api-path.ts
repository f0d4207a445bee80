/** A path of hono's in OpenAPI's words: `/v1/models/:id{.+}` is `/v1/models/{id}`. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
}
