package importer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/importer"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// TestTheKeyIsNotSentAsPlainText: neither to the address that was given, nor to one that a server redirects to.
func TestTheKeyIsNotSentAsPlainText(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://other."+r.Host+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	here := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for address, requests := range map[string]int{"http://chat.example.com": 0, "http://192.0.2.1:7070": 0, "chat.example.com": 0, here: 1} {
		asked = 0
		_, err := importer.Connect(address, "key").ExportUsers(t.Context(), &operationv1.ExportUsersRequest{})
		if err == nil || !strings.Contains(err.Error(), "https://") || asked != requests {
			t.Errorf("%s, asked %d times: %v", address, asked, err)
		}
	}
}
