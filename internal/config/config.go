// Package config composes the rooms' Config structs from a file, the environment and flags, in rising order of weight, and
// reports all faults at once. Nothing is needed to start: the zero value is the documented default.
package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/gateway"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/media"
	"github.com/rialto-im/rialto/internal/presence"
	"github.com/rialto-im/rialto/internal/telemetry"
)

// Config of a node.
type Config struct {
	// Data directory; default ./data.
	Data string `yaml:"data"`
	// Listen address of the web app, the API and sockets; default 127.0.0.1:7070.
	Listen string `yaml:"listen"`
	// Admin address for metrics, profiles and health; default 127.0.0.1, one port above listen, or a free one where that is
	// taken. Keep it on loopback: it asks for no credentials.
	Admin string `yaml:"admin"`
	// TLS of the listener; without it, put a proxy that ends TLS before a listener that is not on loopback.
	TLS TLS `yaml:"tls"`
	// Log lines.
	Log      telemetry.Config `yaml:"log"`
	Account  account.Config   `yaml:"account"`
	Chat     chat.Config      `yaml:"chat"`
	Inbox    inbox.Config     `yaml:"inbox"`
	Presence presence.Config  `yaml:"presence"`
	Media    media.Config     `yaml:"media"`
	Gateway  gateway.Config   `yaml:"gateway"`
}

// TLS files, in PEM.
type TLS struct {
	// Cert is the file of the certificate chain.
	Cert string `yaml:"cert"`
	// Key is the file of the private key.
	Key string `yaml:"key"`
}

// envPrefix of variables: RIALTO_GATEWAY_MAX_CONNECTIONS is gateway.max_connections.
const envPrefix = "RIALTO_"

// Load reads a file (none when path is empty), then environ (as of os.Environ), then settings as "gateway.heartbeat=10s".
func Load(path string, environ, settings []string) (*Config, error) {
	c := &Config{}
	var faults []error
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the configuration cannot be read: %w", err)
		}
		if err := yaml.UnmarshalWithOptions(b, c, yaml.DisallowUnknownField()); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s", path, yaml.FormatError(err, false, true)))
		}
	}
	fields := map[string]reflect.Value{}
	collect(reflect.ValueOf(c).Elem(), "", fields)
	names := map[string]string{}
	for name := range fields {
		names[envPrefix+strings.ToUpper(strings.ReplaceAll(name, ".", "_"))] = name
	}
	for _, e := range environ {
		k, v, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(k, envPrefix) || k == envPrefix+"FAILPOINT" {
			continue
		}
		name, ok := names[k]
		if !ok {
			faults = append(faults, fmt.Errorf("environment: %s is no setting; see rialto check --reference", k))
			continue
		}
		if err := set(fields[name], v); err != nil {
			faults = append(faults, fmt.Errorf("environment: %s: %w", k, err))
		}
	}
	for _, e := range settings {
		k, v, ok := strings.Cut(e, "=")
		field, known := fields[k]
		if !ok || !known {
			faults = append(faults, fmt.Errorf("flag: %q is no setting; give name=value, as gateway.heartbeat=10s", e))
			continue
		}
		if err := set(field, v); err != nil {
			faults = append(faults, fmt.Errorf("flag: %s: %w", k, err))
		}
	}
	faults = append(faults, c.check()...)
	return c, errors.Join(faults...)
}

// Names of all settings, with their types, in the order of the structs.
func Names() (names []string) {
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for i := range t.NumField() {
			f := t.Field(i)
			name := prefix + f.Tag.Get("yaml")
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type, name+".")
				continue
			}
			names = append(names, name)
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return names
}

func collect(v reflect.Value, prefix string, fields map[string]reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		name := prefix + t.Field(i).Tag.Get("yaml")
		if v.Field(i).Kind() == reflect.Struct {
			collect(v.Field(i), name+".", fields)
			continue
		}
		fields[name] = v.Field(i)
	}
}

// set gives a field the value that a text says.
func set(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is no duration; write 30s or 5m", text)
		}
		v.SetInt(int64(d))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetUint(n)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.String {
			return errors.New("this setting is for the file only")
		}
		var list []string
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				list = append(list, s)
			}
		}
		v.Set(reflect.ValueOf(list))
	default:
		return errors.New("this setting is for the file only")
	}
	return nil
}

// check finds what cannot be, and fills in the defaults of the node.
func (c *Config) check() (faults []error) {
	if c.Data == "" {
		c.Data = "data"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:7070"
	}
	for name, address := range map[string]string{"listen": c.Listen, "admin": c.Admin} {
		if address == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(address); err != nil {
			faults = append(faults, fmt.Errorf("%s: %q is not HOST:PORT, as 127.0.0.1:7070", name, address))
		} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
			faults = append(faults, fmt.Errorf("%s: the port of %q is not 0 to 65535", name, address))
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		faults = append(faults, errors.New("tls: give both cert and key, or neither"))
	}
	if _, err := telemetry.NewLogger(c.Log, nil); err != nil {
		faults = append(faults, err)
	}
	return faults
}
