package rialto

import (
	"strconv"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// MapURL returns the address of a map that shows a place, for a link that a person may open. It is empty if the deployment has no map service (chat.map_url), and until
// the first connection of this process.
func (c *Client) MapURL(place *chatv1.Location) string {
	c.mu.Lock()
	pattern := c.mapURL
	c.mu.Unlock()
	if !strings.HasPrefix(pattern, "https://") {
		return ""
	}
	degrees := func(n float64) string { // seven digits are about a centimetre
		text := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(n, 'f', 7, 64), "0"), ".")
		if text == "-0" {
			return "0"
		}
		return text
	}
	return strings.NewReplacer("{latitude}", degrees(place.GetLatitude()), "{longitude}", degrees(place.GetLongitude())).Replace(pattern)
}
