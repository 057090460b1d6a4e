package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
)

// endpoint is one address of a deployment: its only one, or that of a node.
type endpoint struct {
	url      string
	accounts accountv1connect.AccountServiceClient
	admin    accountv1connect.AdminServiceClient
	chat     chatv1connect.ChatServiceClient
	graph    accountv1connect.GraphServiceClient
	feed     feedv1connect.FeedServiceClient
	search   searchv1connect.SearchServiceClient
}

// newEndpoints parses addresses separated by commas.
func newEndpoints(client *http.Client, addresses string) (list []*endpoint) {
	for _, address := range urls(addresses) {
		list = append(list, &endpoint{address, accountv1connect.NewAccountServiceClient(client, address),
			accountv1connect.NewAdminServiceClient(client, address), chatv1connect.NewChatServiceClient(client, address),
			accountv1connect.NewGraphServiceClient(client, address), feedv1connect.NewFeedServiceClient(client, address),
			searchv1connect.NewSearchServiceClient(client, address)})
	}
	return list
}

// urls splits a list of addresses.
func urls(addresses string) (list []string) {
	for address := range strings.SplitSeq(addresses, ",") {
		list = append(list, strings.TrimRight(strings.TrimSpace(address), "/"))
	}
	return list
}

func checkURLs(addresses string) error {
	list := urls(addresses)
	for i, address := range list {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("%q is not an address such as http://127.0.0.1:7070", address)
		case slices.Contains(list[:i], address):
			return fmt.Errorf("the address %s is repeated", address)
		}
	}
	return nil
}

// endpointIndex assigns a device to an endpoint: the devices of a user, and the users of a pair, use different ones.
func endpointIndex(user, device, endpoints int) int { return (user/2 + user%2 + device) % endpoints }

func (d *deployment) endpointOf(user, device int) *endpoint {
	return d.endpoints[endpointIndex(user, device, len(d.endpoints))]
}

// nodeResult is the part of the result over connections to one node.
type nodeResult struct {
	URL         string `json:"url"`
	Connections int    `json:"connections"`
	Acked       uint64 `json:"acked"`
	Delivered   uint64 `json:"delivered"`
}

// nodes returns the results for each endpoint; nil if there is only one. The clients must have stopped.
func (l *load) nodes() []nodeResult {
	if len(l.deploy.endpoints) < 2 {
		return nil
	}
	list := make([]nodeResult, len(l.deploy.endpoints))
	for i, d := range l.deploy.endpoints {
		list[i].URL = d.url
	}
	for _, c := range l.clients {
		n := &list[c.endpointIndex]
		n.Connections++
		n.Acked += c.acked.count()
		n.Delivered += c.delivered.Load()
	}
	return list
}
