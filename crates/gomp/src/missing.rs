//! What is not implemented: a call ends the program with a message that names it.
#![allow(missing_docs, reason = "the names are GCC's and OpenMP's")]

/// Ends the program: it needs `what`.
pub fn missing(what: &str) -> ! {
    eprintln!("libbaton_gomp: {what} is not implemented");
    std::process::abort()
}

/// Makes a function for each symbol that is there by name only.
macro_rules! missing_symbols {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            missing(stringify!($name))
        }
    )*};
}

missing_symbols! {
    GOMP_alloc GOMP_error GOMP_free GOMP_offload_register GOMP_offload_register_ver GOMP_offload_unregister
    GOMP_offload_unregister_ver GOMP_target GOMP_target_data GOMP_target_data_ext GOMP_target_end_data
    GOMP_target_enter_exit_data GOMP_target_ext GOMP_target_update GOMP_target_update_ext GOMP_teams GOMP_teams4
    GOMP_teams_reg GOMP_warning omp_aligned_alloc omp_aligned_calloc omp_alloc omp_calloc omp_capture_affinity
    omp_capture_affinity_ omp_destroy_allocator omp_destroy_allocator_ omp_display_affinity omp_display_affinity_
    omp_display_env omp_display_env_ omp_display_env_8_ omp_free omp_get_affinity_format omp_get_affinity_format_
    omp_get_default_allocator omp_get_default_allocator_ omp_get_max_teams omp_get_max_teams_
    omp_get_teams_thread_limit omp_get_teams_thread_limit_ omp_init_allocator omp_init_allocator_
    omp_init_allocator_8_ omp_pause_resource omp_pause_resource_ omp_pause_resource_all omp_pause_resource_all_
    omp_realloc omp_set_affinity_format omp_set_affinity_format_ omp_set_default_allocator omp_set_default_allocator_
    omp_set_num_teams omp_set_num_teams_ omp_set_num_teams_8_ omp_set_teams_thread_limit omp_set_teams_thread_limit_
    omp_set_teams_thread_limit_8_ omp_target_alloc omp_target_associate_ptr omp_target_disassociate_ptr
    omp_target_free omp_target_is_present omp_target_memcpy omp_target_memcpy_rect
}
