package chaos

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/loopback"
)

// NATS is a private cluster of three standard servers with a user, a password and TLS. Proxies are between Rialto's nodes and each
// server, and between the servers. Only one goroutine at a time may inject a fault.
type NATS struct {
	program   string
	servers   []*natsServer
	fronts    []string // addresses for clients, by server
	nodeLinks *linkSet
	peers     [][]*Link // links between the servers, by source and destination
	ca        string    // path of a file
}

// Credentials of the servers.
const (
	natsUser     = "rialto"
	natsPassword = "only-for-this-run"
)

func (e *Engines) openNATS(ctx, running context.Context, dir string) error {
	program := filepath.Join(dir, "nats-server")
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if err := build(ctx, program, "github.com/nats-io/nats-server/v2"); err != nil { // the version in go.mod
		return err
	}
	n := &NATS{program: program, nodeLinks: newLinkSet("nats", copies), peers: newPeers("nats"), ca: filepath.Join(dir, "nats.crt")}
	e.nats = n
	key := filepath.Join(dir, "nats.key")
	if err := newCertificate(n.ca, key); err != nil {
		return err
	}
	for k := range copies {
		s := &natsServer{program: program, config: filepath.Join(dir, fmt.Sprintf("nats%d.conf", k+1)), log: filepath.Join(dir, fmt.Sprintf("nats%d.log", k+1))}
		for _, port := range []*int{&s.port, &s.peers} {
			if *port, err = loopback.FreePort(); err != nil {
				return err
			}
		}
		n.servers = append(n.servers, s)
	}
	for k, s := range n.servers {
		front, err := e.listen(running, "127.0.0.1:0", func(from net.Addr) *Link { return n.nodeLinks.link(from, k) }, s.address())
		if err != nil {
			return err
		}
		back, err := e.listen(running, "127.0.0.1:0", func(from net.Addr) *Link { return peerLink(n.peers, n.pid, from, k) }, fmt.Sprintf("127.0.0.1:%d", s.peers))
		if err != nil {
			return err
		}
		s.reached = back.Addr()
		n.fronts = append(n.fronts, front.Addr())
	}
	for k, s := range n.servers {
		if err := s.configure(k, n.fronts[k], n.ca, key, n.routes(k)); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// routes returns the URLs of the other servers.
func (n *NATS) routes(server int) (list []string) {
	for k, s := range n.servers {
		if k != server {
			list = append(list, fmt.Sprintf("nats-route://%s:%s@%s", natsUser, natsPassword, s.reached))
		}
	}
	return list
}

// pid of a server, 0 if it has not been started.
func (n *NATS) pid(server int) int { return int(n.servers[server].pid.Load()) }

func (n *NATS) settings() []string {
	var urls []string
	for _, front := range n.fronts {
		urls = append(urls, fmt.Sprintf("tls://%s:%s@%s", natsUser, natsPassword, front))
	}
	return []string{"bus.url=" + strings.Join(urls, ","), "bus.ca=" + n.ca}
}

func (n *NATS) inject(ctx, whole context.Context, f Fault) error {
	if f.Kind == NATSLinkLost {
		holdLinks(ctx, n.nodeLinks.inUse(f.Node), f)
		return nil
	}
	s := n.servers[f.Node]
	from, to := peerLinks(n.peers, f.Node)
	switch f.Kind {
	case NATSCut:
		holdLinks(ctx, slices.Concat(from, to), f)
		return nil
	case NATSInboundLost: // on connections opened by either side
		holdOneWay(ctx, to, from, f)
		return nil
	case NATSOutboundLost:
		holdOneWay(ctx, from, to, f)
		return nil
	case NATSKill:
		s.kill()
		pause(ctx, f.Duration)
		return s.start(whole)
	case NATSPause:
		if err := s.process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, f.Duration)
		return s.process.Signal(syscall.SIGCONT)
	default:
		n.close()
		pause(ctx, f.Duration)
		var errs []error
		for _, s := range n.servers {
			errs = append(errs, s.start(whole))
		}
		return errors.Join(errs...)
	}
}

// close kills all servers.
func (n *NATS) close() {
	for _, s := range n.servers {
		s.kill()
	}
}

// natsServer is a process that ends with this one.
type natsServer struct {
	program, config, log string
	port, peers          int    // for clients, and for the other servers
	reached              string // address for the other servers

	process *os.Process
	gone    chan struct{} // closed when it has ended
	pid     atomic.Int64  // of process; 0 before the first start
}

func (s *natsServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// configure writes the server's settings. It does not advertise the other servers to clients, which must use the proxies.
func (s *natsServer) configure(k int, front, cert, key string, routes []string) error {
	text := fmt.Sprintf(`server_name: nats%d
listen: "127.0.0.1:%d"
client_advertise: %q
max_payload: 2MB
ping_interval: "5s"
authorization { user: %q, password: %q }
tls { cert_file: %q, key_file: %q }
cluster {
  name: external
  listen: "127.0.0.1:%d"
  advertise: %q
  no_advertise: true
  authorization { user: %q, password: %q }
  routes: [%s]
}
`, k+1, s.port, front, natsUser, natsPassword, cert, key, s.peers, s.reached, natsUser, natsPassword, `"`+strings.Join(routes, `", "`)+`"`)
	return os.WriteFile(s.config, []byte(text), 0o600)
}

// start runs the server, and returns when it accepts clients.
func (s *natsServer) start(ctx context.Context) error {
	cmd := exec.Command(s.program, "-c", s.config, "-l", s.log)
	cmd.SysProcAttr = attributes()
	started, gone := make(chan error, 1), make(chan struct{})
	go func() { // ends with the process; the kernel kills the process when this thread ends, so the thread is locked
		runtime.LockOSThread()
		defer close(gone)
		err := cmd.Start()
		if err == nil {
			s.pid.Store(int64(cmd.Process.Pid))
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the server was killed, or its log has the reason
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.gone = cmd.Process, gone
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for !greets(ctx, s.address()) {
		select {
		case <-gone:
			return fmt.Errorf("the NATS server ended before it was ready; %s says why", s.log)
		default:
		}
		if !pause(ctx, 50*time.Millisecond) {
			s.kill()
			return fmt.Errorf("the NATS server at %s is not ready: %w", s.address(), ctx.Err())
		}
	}
	return nil
}

// greets reports whether a server sends its INFO.
func greets(ctx context.Context, address string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer c.Close() //nolint:errcheck // nothing was written
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && strings.HasPrefix(line, "INFO ")
}

func (s *natsServer) kill() {
	if s.process != nil {
		_ = s.process.Kill() // it may have ended
		<-s.gone
	}
}

// newCertificate writes a self-signed certificate for 127.0.0.1, and its key.
func newCertificate(cert, key string) error {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chaos"}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &secret.PublicKey, secret)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o644),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
