package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// VetoHost restricts all clients with these settings to a list of hosts, also after redirects.
func ExampleSettings_allowList() {
	allowed := map[string]bool{
		"registry.example.com": true,
		"files.example.com":    true,
	}
	errNotAllowed := errors.New("not on our list")
	client := &disco.Client{
		Transport: &transport.Settings{
			VetoHost: func(host string) error {
				if !allowed[host] {
					return errNotAllowed
				}
				return nil
			},
		},
	}

	_, err := client.Discover(context.Background(), svchost.MustParse("registry.example.org"))
	fmt.Println(errors.Is(err, errNotAllowed))
	fmt.Println(err)
	// Output:
	// true
	// discover services of registry.example.org: https://registry.example.org/.well-known/terraform.json: host registry.example.org is not allowed: not on our list
}

// A server that downloads packages for untrusted users must not connect to addresses inside
// its own network. VetoHost sees only the name. The dialer sees the address of that name.
func ExampleSettings_privateAddresses() {
	errPrivate := errors.New("not a public address")
	dialer := &net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if ip := at.Addr().Unmap(); !ip.IsGlobalUnicast() || ip.IsPrivate() {
			return errPrivate
		}
		return nil
	}}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = dialer.DialContext
	t.Proxy = nil // a proxy would resolve the name itself

	client := &disco.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: t}, Retries: -1}}
	_, err := client.Discover(context.Background(), svchost.MustParse("127.0.0.1"))
	fmt.Println(errors.Is(err, errPrivate))
	// Output:
	// true
}
