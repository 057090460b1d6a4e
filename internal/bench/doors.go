package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/gen/rialto/account/v1/accountv1connect"
	"github.com/rialto-im/rialto/gen/rialto/chat/v1/chatv1connect"
)

// door is one address of a deployment: the only one, or that of one of its nodes.
type door struct {
	url      string
	accounts accountv1connect.AccountServiceClient
	admin    accountv1connect.AdminServiceClient
	chat     chatv1connect.ChatServiceClient
}

// doors of a deployment, of addresses with commas between them.
func doors(client *http.Client, addresses string) (list []*door) {
	for _, address := range urls(addresses) {
		list = append(list, &door{address, accountv1connect.NewAccountServiceClient(client, address),
			accountv1connect.NewAdminServiceClient(client, address), chatv1connect.NewChatServiceClient(client, address)})
	}
	return list
}

// urls of a list with commas.
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
			return fmt.Errorf("%q is not an address like http://127.0.0.1:7070", address)
		case slices.Contains(list[:i], address):
			return fmt.Errorf("%s is there twice", address)
		}
	}
	return nil
}

// doorOf a device: those of a user are on different nodes, and so are the two of a pair.
func doorOf(user, device, doors int) int { return (user/2 + user%2 + device) % doors }

func (d *deployment) doorOf(user, device int) *door {
	return d.doors[doorOf(user, device, len(d.doors))]
}

// nodeResult is what came of the connections to one node.
type nodeResult struct {
	URL         string `json:"url"`
	Connections int    `json:"connections"`
	Acked       uint64 `json:"acked"`
	Delivered   uint64 `json:"delivered"`
}

// nodes gathers what came of each; nil where there is one address alone. The clients stand still.
func (l *load) nodes() []nodeResult {
	if len(l.deploy.doors) < 2 {
		return nil
	}
	list := make([]nodeResult, len(l.deploy.doors))
	for i, d := range l.deploy.doors {
		list[i].URL = d.url
	}
	for _, c := range l.clients {
		n := &list[c.door]
		n.Connections++
		n.Acked += c.ack.count
		n.Delivered += c.delivered.Load()
	}
	return list
}
