package outgoing

import (
	"maps"
	"slices"
	"time"
)

// Kind of calls: what is called, and for what. It is a label of metrics.
type Kind string

// The kinds.
const (
	APNs               Kind = "apns"
	FCM                Kind = "fcm"
	FCMToken           Kind = "fcm_token"
	Huawei             Kind = "huawei"
	HuaweiToken        Kind = "huawei_token"
	Xiaomi             Kind = "xiaomi"
	Getui              Kind = "getui"
	WebPush            Kind = "web_push"
	PushWebhook        Kind = "push_webhook"
	EventWebhook       Kind = "event_webhook"
	TransactionWebhook Kind = "transaction_webhook"
	BeforeSend         Kind = "before_send"
	BeforePublish      Kind = "before_publish"
	Relation           Kind = "relation"
	CodeWebhook        Kind = "code_webhook"
	SMSWebhook         Kind = "sms_webhook"
	SMTP               Kind = "smtp"
	IssuerKeys         Kind = "issuer_keys"
	IssuerTokens       Kind = "issuer_tokens"
	LinkPreview        Kind = "link_preview"
	S3                 Kind = "s3"
	Traces             Kind = "traces"
	OpenSearch         Kind = "opensearch"
	EdgeOrigin         Kind = "edge_origin"
	EdgeUpload         Kind = "edge_upload"
)

// Policy of a kind of calls.
type Policy struct {
	// OpenFor is how long an open circuit refuses all calls.
	OpenFor time.Duration
	// Retries of a failed call, at once and within its timeout, as far as the budget of its destination allows.
	Retries int
	// Floor is how many retries of a destination its budget allows in 10 seconds beyond one in ten calls.
	Floor int
	// Pauses: an answer with Retry-After concerns the whole destination, and not only one device, number, message or user there, for whom one user could
	// provoke it for all.
	Pauses bool
}

const (
	openShort = 2 * time.Second  // somebody waits for the call
	openLong  = 10 * time.Second // a durable queue tries again, or a user can

	floor        = 3
	floorOfFiles = 20 // some uploads are in progress at once
)

// policies of all kinds.
var policies = map[Kind]Policy{
	// Devices are paused one by one, by package push, whose queue tries again.
	APNs:    {OpenFor: openLong},
	FCM:     {OpenFor: openLong},
	Huawei:  {OpenFor: openLong},
	Xiaomi:  {OpenFor: openLong},
	Getui:   {OpenFor: openLong},
	WebPush: {OpenFor: openLong},
	// Access tokens, for which many pushes wait.
	FCMToken:    {OpenFor: openLong, Retries: 1, Floor: floor, Pauses: true},
	HuaweiToken: {OpenFor: openLong, Retries: 1, Floor: floor, Pauses: true},
	// Durable queues.
	PushWebhook:        {OpenFor: openLong}, // it answers for a device
	EventWebhook:       {OpenFor: openLong, Pauses: true},
	TransactionWebhook: {OpenFor: openLong, Pauses: true},
	CodeWebhook:        {OpenFor: openLong},
	SMSWebhook:         {OpenFor: openLong},
	SMTP:               {OpenFor: openLong},
	// Callers wait.
	BeforeSend:    {OpenFor: openShort, Retries: 1, Floor: floor},
	BeforePublish: {OpenFor: openShort, Retries: 1, Floor: floor},
	Relation:      {OpenFor: openShort, Retries: 1, Floor: floor},
	IssuerKeys:    {OpenFor: openShort, Retries: 1, Floor: floor, Pauses: true},
	IssuerTokens:  {OpenFor: openShort, Retries: 1, Floor: floor},
	LinkPreview:   {OpenFor: openLong},
	S3:            {OpenFor: openShort, Retries: 2, Floor: floorOfFiles},
	// Each server of a cluster is a destination: a call that fails goes on to the next one, so few are retried.
	OpenSearch: {OpenFor: openShort, Retries: 1, Floor: floor},
	// An edge goes on to the next origin at once.
	EdgeOrigin: {OpenFor: openShort},
	EdgeUpload: {OpenFor: openShort},
	// Nobody waits: spans that are not accepted are lost.
	Traces: {OpenFor: openLong, Pauses: true},
}

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Sorted(maps.Keys(policies)) }

// Known reports whether a kind is declared.
func (k Kind) Known() bool {
	_, known := policies[k]
	return known
}

// Policy returns what is declared for a kind.
func (k Kind) Policy() Policy { return policies[k] }
