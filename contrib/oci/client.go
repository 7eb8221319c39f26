package oci

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// The limits for documents.
const (
	MaxManifest = 4 << 20 // bytes of a manifest or another document
	maxPages    = 1000    // pages of a list of tags
	maxVersions = 100_000 // versions in a list of tags
	maxRepos    = 256     // repositories with tokens
)

// A Client fetches from OCI registries. The zero value makes anonymous requests. Set the
// fields before the first call. Then a Client is safe for concurrent use and must not be
// copied.
type Client struct {
	// Transport has the settings of requests; the settings for archives hold for blobs. Its
	// Credentials are not used. If nil, as in the zero Client, the zero settings are used.
	Transport *transport.Settings

	// Credential, if not nil, returns the credential for a repository "HOST[:PORT]/NAME". It
	// is called once for each repository that needs a credential.
	Credential func(repository string) (cliconfig.OCICredential, error)

	mu    sync.Mutex
	repos []*remote.Repository // with tokens, the last used one at the end
}

var _ module.Fetcher = (*Client)(nil)

// Configure makes config use OCI registries as OpenTofu does. It sets config.OCI, and returns
// a Client with the credentials of config for modules:
//
//	options := module.Options{Fetcher: oci.Configure(config)}
//
// The credentials are in [cliconfig.Config.OCICredentials], with the entries of its
// Docker-style files. If a file at a usual place is invalid, all these files are ignored, and
// this is logged.
//
// Set HTTP, UserAgent, VetoHost and Logger of config before.
func Configure(config *cliconfig.Config) *Client {
	c := &Client{Transport: config.Registry().Transport, Credential: func(repository string) (cliconfig.OCICredential, error) {
		return configured(config, repository)
	}}
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

// repository returns the repository at "HOST[:PORT]/NAME". The last used repositories are kept
// with their tokens.
func (c *Client) repository(address string) (*remote.Repository, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	host, name, _ := strings.Cut(address, "/")
	ref := registry.Reference{Registry: host, Repository: name}
	if i := slices.IndexFunc(c.repos, func(r *remote.Repository) bool { return r.Reference == ref }); i >= 0 {
		r := c.repos[i]
		c.repos = append(slices.Delete(c.repos, i, i+1), r)
		return r, nil
	}
	if err := ref.Validate(); err != nil {
		return nil, &AddressError{Repository: address}
	}
	var has atomic.Bool
	r := &remote.Repository{
		Reference: ref, TagListMaxPages: maxPages, MaxMetadataBytes: MaxManifest + 1,
		Client: uploader{&auth.Client{Client: c.http(&has), Credential: c.credential(ref, &has), Cache: auth.NewCache()}},
	}
	_ = r.SetReferrersCapability(true) // indexes of referrers in tags are not for us to keep
	if len(c.repos) == maxRepos {
		c.repos = slices.Delete(c.repos, 0, 1)
	}
	c.repos = append(c.repos, r)
	return r, nil
}

// settings returns the settings of requests.
func (c *Client) settings() transport.Settings {
	if c.Transport == nil {
		return transport.Settings{}
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
