package oci

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The limits for documents.
const (
	MaxManifest = 4 << 20 // bytes of a manifest or another document
	maxPages    = 1000    // pages of a list of tags
)

// A Client fetches from OCI registries. The zero value makes anonymous requests. Set the
// fields before the first call. Then a Client is safe for concurrent use and must not be
// copied.
type Client struct {
	// Transport has the settings of requests; the settings for archives hold for blobs. Its
	// Credentials are not used. If nil, the zero settings are used.
	Transport *transport.Client

	// Credential, if not nil, returns the credential for a repository "HOST[:PORT]/NAME". It
	// is called once for each repository that needs a credential.
	Credential func(repository string) (cliconfig.OCICredential, error)

	// Limits are the limits for module packages. Zero fields are the defaults. For provider
	// packages, the limits in [provider.Options] hold.
	Limits checksum.Limits

	mu    sync.Mutex
	repos map[string]*remote.Repository
}

var _ module.Fetcher = (*Client)(nil)

// Configure makes config use OCI registries as OpenTofu does. It sets config.OCI, and returns
// a Client with the credentials of config for modules:
//
//	options := module.Options{Fetcher: oci.Configure(config)}
//
// Set HTTP, UserAgent, VetoHost and Logger of config before.
func Configure(config *cliconfig.Config) *Client {
	c := &Client{Transport: config.Registry().Transport, Credential: config.OCICredential}
	config.OCI = func(m *cliconfig.Method) (provider.Source, error) { return c.Mirror(m.Repository), nil }
	return c
}

// Mirror returns a mirror with one repository for each provider. The function returns the
// address of the repository, "HOST[:PORT]/NAME". The tags of the repository are the versions,
// with "_" in place of "+".
//
// The packages are not signed: the registry chooses the archive of a tag. Use a policy that
// accepts this, such as [cliconfig.Config.Policy], or hashes of a lock file.
func (c *Client) Mirror(repository func(addrs.Provider) string) provider.Source {
	return &mirror{client: c, repository: repository}
}

// repository returns the repository at "HOST[:PORT]/NAME". Each repository is created once,
// to keep its tokens.
func (c *Client) repository(address string) (*remote.Repository, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.repos[address]; r != nil {
		return r, nil
	}
	host, name, _ := strings.Cut(address, "/")
	ref := registry.Reference{Registry: host, Repository: name}
	if err := ref.Validate(); err != nil {
		return nil, &AddressError{Repository: address}
	}
	r := &remote.Repository{
		Reference: ref, TagListMaxPages: maxPages, MaxMetadataBytes: MaxManifest + 1,
		Client: &auth.Client{Client: c.http(), Credential: c.credential(ref), Cache: auth.NewCache()},
	}
	if c.repos == nil {
		c.repos = map[string]*remote.Repository{}
	}
	c.repos[address] = r
	return r, nil
}

// settings returns the settings of requests.
func (c *Client) settings() transport.Client {
	if c.Transport == nil {
		return transport.Client{}
	}
	return *c.Transport
}

// archiveRetries returns how often a request for a blob is repeated, and how often its
// transfer is resumed.
func (c *Client) archiveRetries() int {
	s := c.settings()
	return orDefault(cmp.Or(s.ArchiveRetries, s.Retries), defaultRetries)
}

// orDefault returns 0 for a negative value, and the default for 0.
func orDefault[T int | time.Duration](n, byDefault T) T {
	return max(0, cmp.Or(n, byDefault))
}
