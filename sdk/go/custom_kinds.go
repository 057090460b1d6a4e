package rialto

import (
	"encoding/json"
	"errors"
	"fmt"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// ErrUnknownKind: a message is not of a registered custom kind.
var ErrUnknownKind = errors.New("rialto: the message is not of a registered kind")

// CustomKinds is the registry of the custom message kinds that a program knows. The zero value knows none. Register the kinds first: after that, it may
// be used by many goroutines.
type CustomKinds struct{ byType map[string]customKind }

type customKind struct {
	decode func(data []byte) (any, error)
	text   func(value any) string // nil: the fallback
}

// RegisterKind says how messages of a custom type, such as app.example/poll, are read: by decode, which returns an error for data that is not valid, or as
// JSON if decode is nil. text, which may be nil, is what lists and notifications show of a message instead of its fallback. Registering a type again
// replaces it.
func RegisterKind[T any](kinds *CustomKinds, customType string, decode func(data []byte) (T, error), text func(T) string) {
	if decode == nil {
		decode = func(data []byte) (value T, err error) { return value, json.Unmarshal(data, &value) }
	}
	k := customKind{decode: func(data []byte) (any, error) { return decode(data) }}
	if text != nil {
		k.text = func(value any) string { return text(value.(T)) }
	}
	if kinds.byType == nil {
		kinds.byType = map[string]customKind{}
	}
	kinds.byType[customType] = k
}

// Decode returns the value in a custom message or a signal, of the type that its kind was registered with. It returns ErrUnknownKind if there is no such
// kind, and an error for data that is not valid: other users write it.
func (k *CustomKinds) Decode(c *chatv1.Custom) (any, error) {
	kind, ok := k.byType[c.GetType()]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKind, c.GetType())
	}
	value, err := kind.decode(c.GetData())
	if err != nil {
		return nil, fmt.Errorf("rialto: data of a message of kind %q: %w", c.GetType(), err)
	}
	return value, nil
}

// Text returns what lists and notifications show of a custom message: what its kind says, or else its fallback, which may be empty.
func (k *CustomKinds) Text(c *chatv1.Custom) string {
	kind := k.byType[c.GetType()]
	if kind.text == nil {
		return c.GetFallback()
	}
	value, err := kind.decode(c.GetData())
	if err != nil {
		return c.GetFallback()
	}
	return kind.text(value)
}
