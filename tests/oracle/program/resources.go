package main

import (
	"math/rand"
	"reflect"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"

	// Each of these registers how its kinds of resources are encoded.
	_ "github.com/siderolabs/talos/pkg/machinery/resources/block"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/cri"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/files"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/kubespan"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/network"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/siderolink"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/time"
	_ "github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
)

// encoded is a resource as a node sends it: its spec in protobuf, and as `talosctl get` shows it.
type encoded struct {
	Namespace string `json:"namespace"`
	Type      string `json:"type"`
	ID        string `json:"id"`
	Proto     []byte `json:"proto"`
	Spec      any    `json:"spec"`
}

type resourceRequest struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Seed int64  `json:"seed"`
}

// randomResource makes a resource of the kind, every field set, encoded as a node encodes it.
func randomResource(request resourceRequest) (any, error) {
	made, err := emptyResource(request)
	if err != nil {
		return nil, err
	}

	source := filler{rand.New(rand.NewSource(request.Seed))}
	source.fill(reflect.ValueOf(made.Spec()))

	return encode(made)
}

// emptyResource: the library makes a typed resource only by decoding one.
func emptyResource(request resourceRequest) (resource.Resource, error) {
	bare, err := protobuf.Unmarshal(&v1alpha1.Resource{
		Metadata: &v1alpha1.Metadata{
			Namespace: "test",
			Type:      request.Type,
			Id:        request.ID,
			Version:   "1",
			Phase:     "running",
		},
		Spec: &v1alpha1.Spec{},
	})
	if err != nil {
		return nil, err
	}

	return protobuf.UnmarshalResource(bare)
}

// machineConfig encodes the resource that holds a node's whole config.
func machineConfig(request configRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		return nil, err
	}

	return encode(configres.NewMachineConfig(provider))
}

func encode(made resource.Resource) (any, error) {
	message, err := protobuf.FromResource(made)
	if err != nil {
		return nil, err
	}

	wire, err := message.Marshal()
	if err != nil {
		return nil, err
	}

	spec, err := plain([]byte(wire.GetSpec().GetYamlSpec()))
	if err != nil {
		return nil, err
	}

	return encoded{
		Namespace: wire.GetMetadata().GetNamespace(),
		Type:      wire.GetMetadata().GetType(),
		ID:        wire.GetMetadata().GetId(),
		Proto:     wire.GetSpec().GetProtoSpec(),
		Spec:      spec[0],
	}, nil
}
