// Package jsoniter stands in for github.com/json-iterator/go, of which Bleve uses what is here, for shapes on maps that no index of ours has. That
// module makes the linker keep all methods of the whole program, 25 MB more (docs/decisions/0108-no-json-iterator.md).
package jsoniter

import "encoding/json"

// API encodes and decodes JSON.
type API struct{}

// ConfigCompatibleWithStandardLibrary is the standard library.
var ConfigCompatibleWithStandardLibrary API

// Marshal encodes.
func (API) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal decodes.
func (API) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }
