package regclient

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
)

// ModuleVersions lists the versions of m, newest first; see "List Available Versions for a
// Specific Module" in the protocol. Invalid versions and duplicates are ignored, with a
// warning.
//
// Some registries split the list into pages, which the protocol does not have, and announce them by
// total, limit and offset. ModuleVersions fetches up to 100 pages. If a page fails, it returns
// the versions so far and a warning.
//
// Some registries answer 500 for an unknown module, which is not [module.ErrNotFound].
func (c *Client) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	const op = "list versions of"
	r, err := c.moduleRequest(ctx, m, "versions")
	if err != nil {
		return nil, source.Failed(op, m.String(), err)
	}
	versions, err := c.moduleVersions.Get(ctx, c.http, r, (*module.Versions).Clone, func(ctx context.Context, resp *httpx.Response) (*module.Versions, error) {
		return c.listModule(ctx, r, resp)
	})
	if err != nil {
		return nil, source.Failed(op, m.String(), source.PerhapsUnknown(err, "module"))
	}
	versions.Module = m
	return versions, nil
}

// listModule returns the list whose first page is resp, the answer to r.
func (c *Client) listModule(ctx context.Context, r httpx.Request, resp *httpx.Response) (*module.Versions, error) {
	var list moduleList
	page, err := list.add(resp)
	if err != nil {
		return nil, err
	}
	if !page.known {
		return nil, resp.Fail(fmt.Errorf("the answer has no module: %w", fault.ErrNotFound))
	}
	if err := c.addPages(ctx, r, &list, page); err != nil {
		return nil, err
	}
	slices.SortFunc(list.releases, func(a, b module.Release) int { return b.Version.Compare(a.Version) })
	return &module.Versions{List: list.releases, Warnings: list.warnings()}, nil
}

// moduleRequest returns the request for a document about m.
func (c *Client) moduleRequest(ctx context.Context, m addrs.Module, parts ...string) (httpx.Request, error) {
	parts = append([]string{m.Namespace(), m.Name(), m.System()}, parts...)
	return c.documentRequest(ctx, m.Host(), disco.ModulesV1, parts...)
}
