// Package disco finds the services of a registry host. It is meant for 1.0.
//
// A host lists the base URLs of its services in its discovery document,
// /.well-known/terraform.json:
//
//	{"modules.v1": "https://api.example.com/modules/v1/", "providers.v1": "/providers/v1/"}
//
// A [Client] downloads, checks and caches the document:
//
//	var client disco.Client
//	services, err := client.Discover(ctx, svchost.MustParse("registry.opentofu.org"))
//	if err != nil {
//		return err
//	}
//	base, err := services.URL(disco.ProvidersV1)
//
// The request is https, with at most five redirects, and the document application/json. Its
// limits are 1 MiB and 1000 services. An invalid value is an error of its service only.
//
// The token of the host is sent with the request, but not with a redirect to another host,
// port or scheme. It may be sent to the services in the document, unless they or the document
// use http.
//
// The protocol is https://opentofu.org/docs/internals/remote-service-discovery/.
package disco
