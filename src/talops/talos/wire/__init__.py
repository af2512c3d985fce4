"""What travels between a client and a Talos node: .proto texts and the stubs made from them.

`make proto` generates. Every name, number and type is the one on the wire; the file names are ours,
so that packages called `time`, `inspect` and `resource` never shadow Python's own modules.

machine_pb2     machine.MachineService, all its messages re-exported from machine_*.proto
lifecycle_pb2   machine.LifecycleService          image_pb2     machine.ImageService
storage_pb2     storage.StorageService            cluster_pb2   cluster.ClusterService
time_pb2        time.TimeService                  inspect_pb2   inspect.InspectService
cosi_pb2        cosi.resource.State               cosi_meta_pb2 resource definitions
spec_*_pb2      what a resource's proto_spec bytes hold
*_grpc          `<Service>Base` to serve, `<Service>Stub` to call
"""
