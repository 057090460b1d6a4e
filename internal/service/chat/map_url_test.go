package chat_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/service/chat"
)

func TestMapURLIsAnHTTPSAddressWithBothPlaceholders(t *testing.T) {
	for _, valid := range []string{
		"",
		"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}",
		"https://map.example.com:8443/a/#map=16/{latitude}/{longitude}",
	} {
		if err := (chat.Config{MapURL: valid}).Check(); err != nil {
			t.Errorf("%q: %v", valid, err)
		}
	}
	for pattern, want := range map[string]string{
		"http://map.example.com/{latitude},{longitude}":                               "is not an https address",
		"javascript:alert({latitude},{longitude})":                                    "is not an https address",
		"//map.example.com/{latitude},{longitude}":                                    "is not an https address",
		"https:///{latitude},{longitude}":                                             "is not an https address",
		"https://{latitude}.example.com/{longitude}":                                  "is not an https address",
		"https://user:word@map.example.com/{latitude},{longitude}":                    "is not an https address",
		"https://map.example.com/ {latitude},{longitude}":                             "is not an https address",
		"https://map.example.com/":                                                    "must contain {latitude} and {longitude}",
		"https://map.example.com/{latitude}":                                          "must contain {latitude} and {longitude}",
		"https://map.example.com/{latitude},{longitude}?zoom={zoom}":                  "has braces around something else",
		"https://map.example.com/{latitude},{longitude}?" + strings.Repeat("z", 1000): "the limit is 1000",
	} {
		err := (chat.Config{MapURL: pattern}).Check()
		if err == nil || !strings.HasPrefix(err.Error(), "chat.map_url") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}
