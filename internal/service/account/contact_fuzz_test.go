package account_test

import (
	"net/mail"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// FuzzContacts: an accepted address has one stored form, cannot end a line or name a second receiver of an email, and a number has only its digits.
func FuzzContacts(f *testing.F) {
	for _, text := range []string{"", "a@example.com", " A.B+c@Example.com ", "a@b", "a b@example.com", "a@example.com\r\nBcc: b@example.com", "a@example.com,b@example.com", "<a@example.com>", "\"a\"@example.com", "a@[127.0.0.1]",
		"a@例え.jp", "@example.com", "a@@example.com", "+1 (202) 555-0143", "+0", "0015551234567", "+1234567890123456", "+\uff11234567", "a@example.com\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []accountv1.ContactKind{accountv1.ContactKind_CONTACT_KIND_EMAIL, accountv1.ContactKind_CONTACT_KIND_PHONE} {
			stored, err := account.ParseAddress(kind, text)
			if err != nil {
				continue
			}
			if again, err := account.ParseAddress(kind, stored); err != nil || again != stored {
				t.Errorf("%q is stored as %q, which is stored as %q, %v", text, stored, again, err)
			}
			if kind == accountv1.ContactKind_CONTACT_KIND_PHONE {
				if digits, ok := strings.CutPrefix(stored, "+"); !ok || strings.Trim(digits, "0123456789") != "" || len(digits) > 15 {
					t.Errorf("%q is stored as the number %q", text, stored)
				}
				continue
			}
			list, err := mail.ParseAddressList(stored)
			if err != nil || len(list) != 1 || list[0].Address != stored || list[0].Name != "" || strings.ContainsAny(stored, " \t\r\n\x00<>,;") || strings.ToLower(stored) != stored {
				t.Errorf("%q is stored as %q, which a mail server reads as %v, %v", text, stored, list, err)
			}
		}
	})
}
