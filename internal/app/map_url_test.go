package app

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Clients learn the operator's map service when they connect, and show a link to it, without exponents and useless digits.
func TestMapLinks(t *testing.T) {
	h, _ := open(t, "chat.map_url=https://map.example.com/?lat={latitude}&lon={longitude}#{latitude}")
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/open @bob", "/location 45.438 -0.000001 Rialto")
	bob.sees("[location geo:45.43800,-0.00000] Rialto\n", "↳ https://map.example.com/?lat=45.438&lon=-0.000001#45.438\n")
	carol := keepCopies(t, h, "carol")
	eventually.True(t, "carol is connected", func() bool { return carol.MapURL(&chatv1.Location{}) != "" })
	for want, place := range map[string]*chatv1.Location{
		"https://map.example.com/?lat=90&lon=-180#90":                      {Latitude: 90, Longitude: -180},
		"https://map.example.com/?lat=0&lon=0#0":                           {Latitude: -0.00000001, Longitude: 0},
		"https://map.example.com/?lat=1.2345679&lon=100.0000001#1.2345679": {Latitude: 1.23456789, Longitude: 100.0000001},
	} {
		if got := carol.MapURL(place); got != want {
			t.Errorf("the link is %s, want %s", got, want)
		}
	}

	without, _ := open(t)
	dave, erin := keepCopies(t, without, "dave"), keepCopies(t, without, "erin")
	direct, err := dave.OpenDirect(t.Context(), "erin")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := dave.SendText(t.Context(), direct.Id, "hello")
	if err != nil {
		t.Fatal(err)
	}
	erin.at(t, sent.Seq, sent.Seq) // she is connected
	if got := erin.MapURL(&chatv1.Location{Latitude: 1, Longitude: 2}); got != "" {
		t.Errorf("without a map service the link is %s", got)
	}
}
