package account_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// TestSettingsAreImported: for users who have none. What a user has chosen since stays, and exports have it.
func TestSettingsAreImported(t *testing.T) {
	r := openOn(t, sqltest.Place(t), 1, account.Config{}, func(*account.Deps) {})
	u := r.newUsers(1)[0]
	for _, theme := range []string{"dark", "light"} {
		if err := r.ImportSettings(t.Context(), u, &accountv1.Settings{Theme: theme}); err != nil {
			t.Fatal(err)
		}
	}
	set, err := r.GetSettings(t.Context(), id.Caller{User: u})
	if err != nil || set.Theme != "dark" {
		t.Errorf("the settings are %v, %v", set, err)
	}
	page, err := r.ExportUsers(t.Context(), &operationv1.ExportUsersRequest{})
	if err != nil || page.Users[0].Settings.GetTheme() != "dark" {
		t.Errorf("the export has %v, %v", page, err)
	}
}
