package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLinkPreviewsInTerminals: what a link leads to stands below the message, for its sender and the others, and an edit brings that of the new link.
func TestLinkPreviewsInTerminals(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<html><head><title>Page %s</title><meta property="og:site_name" content="Walks"><meta name="description" content="All of %[1]s"></head></html>`, r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	host := strings.TrimPrefix(site.URL, "http://")
	h, _ := open(t, "link_previews.internal_hosts="+host)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	bob.types("/open @alice")
	alice.types("/open @bob", "see "+site.URL+"/lakes.")
	below := "\n         ↳ " + host + " · Walks: Page %s\n           All of %[1]s\n"
	alice.sees("you: see " + site.URL + "/lakes." + fmt.Sprintf(below, "lakes"))
	bob.sees("Alice: see " + site.URL + "/lakes." + fmt.Sprintf(below, "lakes"))
	alice.types("/edit or " + site.URL + "/hills")
	bob.sees("Alice: or " + site.URL + "/hills  (edited)" + fmt.Sprintf(below, "hills"))
	alice.types("/reply last no: " + site.URL + "/caves")
	bob.sees("): no: " + site.URL + "/caves" + fmt.Sprintf(below, "caves"))
	bob.types("/history 2")
	bob.sees("/hills  (edited)"+fmt.Sprintf(below, "hills"), "/caves"+fmt.Sprintf(below, "caves"))
}
