// Package openapi holds the OpenAPI document of the API.
package openapi

import _ "embed"

// Compressed is openapi.json, compressed with gzip: to 84 of 725 kB. scripts/generate.sh makes both.
//
//go:embed openapi.json.gz
var Compressed []byte
