// Package disco finds the services of a registry host. It is meant for 1.0.
//
//	services, err := client.Discover(ctx, svchost.MustParse("registry.opentofu.org"))
//	base, err := services.URL(disco.ProvidersV1)
//
// The document is requested over https, with at most five redirects, and must be application/json, of at most
// 1 MiB and 1000 services. The token of the host is not sent with a redirect to another host, port or scheme.
//
// The protocol is https://opentofu.org/docs/internals/remote-service-discovery/.
package disco
