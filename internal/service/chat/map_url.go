package chat

import (
	"fmt"
	"net/url"
	"strings"
)

// maxMapURL bounds chat.map_url, in bytes: each connection is sent it.
const maxMapURL = 1_000

// checkMapURL checks the address of a map service.
func checkMapURL(pattern string) error {
	if pattern == "" {
		return nil
	}
	if len(pattern) > maxMapURL {
		return fmt.Errorf("chat.map_url has %d bytes; the limit is %d", len(pattern), maxMapURL)
	}
	u, err := url.Parse(pattern) // which refuses braces in a host
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(pattern, " \"'<>\\^`"):
		return fmt.Errorf("chat.map_url: %q is not an https address without a user, as https://map.example.com/?lat={latitude}&lon={longitude}", pattern)
	case !strings.Contains(pattern, "{latitude}") || !strings.Contains(pattern, "{longitude}"):
		return fmt.Errorf("chat.map_url: %q must contain {latitude} and {longitude}, which clients replace by a place's degrees", pattern)
	case strings.ContainsAny(strings.NewReplacer("{latitude}", "", "{longitude}", "").Replace(pattern), "{}"):
		return fmt.Errorf("chat.map_url: %q has braces around something else than {latitude} and {longitude}; remove them", pattern)
	}
	return nil
}
